package store

import (
	"bytes"
	"path"
	"strings"

	"github.com/go-json-experiment/json"
)

// StrayNames are patterns, as path.Match has them, for the names of files that a store keeps in
// its own directory or leaves behind when its process dies. None of them belongs into a
// repository.
var StrayNames = []string{TemporaryPrefix + "*", "head.json", "journal.json", "*-[0-9][0-9][0-9][0-9].jsonl", strings.Repeat("[0-9a-f]", 64) + ".json"}

// tmpRandom is the length of the random end of a temporary's name.
const tmpRandom = 12

// MayBeStray reports whether a path has one of those names. It is quick, since a hook asks it of
// every path of the index, and of temporaries it knows those that the store itself makes.
func MayBeStray(name []byte) bool {
	n := len(name)
	if n == 0 {
		return false
	}
	switch name[n-1] {
	case 'n': // .json
		base := name[bytes.LastIndexByte(name, '/')+1:]
		if string(base) == "head.json" || string(base) == "journal.json" || len(base) == 64+len(".json") && isStray(base) {
			return true
		}
	case 'l': // .jsonl
		if bytes.HasSuffix(name, []byte(".jsonl")) && isStray(name[bytes.LastIndexByte(name, '/')+1:]) {
			return true
		}
	}
	const length = len(TemporaryPrefix) + tmpRandom
	return n >= length && string(name[n-length:n-tmpRandom]) == TemporaryPrefix && (n == length || name[n-length-1] == '/')
}

func isStray(base []byte) bool {
	for _, pattern := range StrayNames {
		if ok, _ := path.Match(pattern, string(base)); ok {
			return true
		}
	}
	return false
}

// IsStray reports whether a file of such a name is the store's: a temporary always, any other if
// it holds what the store writes under that name.
func IsStray(name string, data []byte) bool {
	base := path.Base(name)
	var members map[string]any
	switch {
	case strings.HasPrefix(base, TemporaryPrefix):
		return true
	case strings.HasSuffix(base, ".jsonl"): // a chained log
		line, _, _ := bytes.Cut(data, []byte("\n"))
		if json.Unmarshal(line, &members) != nil {
			return false
		}
		prev, _ := members["prev"].(string)
		return members["seq"] != nil && len(prev) == len(zero)
	case json.Unmarshal(data, &members) != nil:
		return false
	case base == "head.json":
		return members["generation"] != nil && members["logs"] != nil
	case base == "journal.json":
		return members["ops"] != nil && members["version"] != nil
	}
	return members["request"] != nil && members["result"] != nil
}
