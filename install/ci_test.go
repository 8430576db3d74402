package install

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The jobs that --print gives are those of the manual.
func TestJobsOfTheManual(t *testing.T) {
	for name, printed := range map[string]string{"github.yml": githubJob, "gitlab.yml": gitlabJob} {
		data, err := os.ReadFile(filepath.Join("..", "docs", "ci", name))
		if err != nil || !bytes.Equal(data, []byte(printed)) {
			t.Errorf("docs/ci/%s is not what is printed (%v)", name, err)
		}
	}
	for _, name := range Recipes() {
		if text, ok := Recipe(name); !ok || len(text) < 100 {
			t.Errorf("%s has no recipe", name)
		}
	}
}
