package install

import _ "embed"

// The jobs stand in docs/ci as well; a test holds the two together.
var (
	//go:embed ci/github.yml
	githubJob string
	//go:embed ci/gitlab.yml
	gitlabJob string
)
