//go:build !unix

package store

import "os"

const lockFlag = os.O_CREATE | os.O_RDWR
