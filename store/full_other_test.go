//go:build !linux

package store_test

import "errors"

func full(string) error { return errors.New("there is no such limit here") }
