package commands

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// completionFlag is what a shell appends to ask for completions.
const completionFlag = "--generate-bash-completion"

// completions are the scripts that ask the programs themselves what may come next.
var completions = map[string]string{
	"bash": `_assent_complete() {
	local words=("${COMP_WORDS[@]:0:$COMP_CWORD}")
	COMPREPLY=($(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "${COMP_WORDS[$COMP_CWORD]}"))
}
complete -o default -F _assent_complete assent skmb agentsmd
`,
	"zsh": `_assent_complete() {
	local -a found
	found=("${(@f)$("${(@)words[1,CURRENT-1]}" --generate-bash-completion 2>/dev/null)}")
	compadd -- $found
	_files
}
compdef _assent_complete assent skmb agentsmd
`,
	"fish": `for program in assent skmb agentsmd
	complete -c $program -f -a '(set -l words (commandline -opc); $words --generate-bash-completion 2>/dev/null)'
end
`,
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a completion script for a shell", ArgsUsage: "bash|zsh|fish",
		UsageText: "source <(assent completion bash)\nassent completion fish > ~/.config/fish/completions/assent.fish",
		Action: action(1, func(c *call) error {
			script, ok := completions[c.Args().First()]
			if !ok {
				return invalid("assent completion bash, zsh or fish", "there is no completion for the shell %q", c.Args().First())
			}
			_, err := fmt.Fprint(c.Stdout, script)
			return err
		}),
	}
}
