//go:build !race

package markdown_test

// large is the size of a hostile text: 1 MiB, the cap of most files.
const large = 1 << 20
