//go:build race

package markdown_test

// The race detector slows the parser about eightfold: an eighth of the text takes as long.
const large = 1 << 17
