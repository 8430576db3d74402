package agentsmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"assent/approval"
	"assent/boundary"
	"assent/finding"
)

// Said is how a person says yes in this call.
type Said struct {
	Words string // quoted; "" asks on the terminal
	From  string // chat, issue, mail or meeting
	// Confirm shows a statement and gets the yes to it.
	Confirm func(approval.Statement) (approval.Given, error)
}

// card is what is confirmed: the texts as they will stand.
func (a *applying) card() string {
	var b strings.Builder
	fmt.Fprintf(&b, "of the plan %s: %s\n", a.id, finding.Count(len(a.selected), "change"))
	for _, d := range a.selected {
		fmt.Fprintf(&b, "\n%d  %s  %s\n", d.Number, d.Action, d.TargetPath)
		for _, old := range d.Olds() {
			fmt.Fprintf(&b, "   - %s\n", old)
		}
		if d.Instruction != "" {
			fmt.Fprintf(&b, "   + %s\n", d.Instruction)
		}
		for _, q := range d.Quotes {
			fmt.Fprintf(&b, "     said: %s\n", strings.Join(strings.Fields(q.Quote), " "))
		}
	}
	return b.String()
}

func (a *applying) statement() approval.Statement {
	card := a.card()
	sum := digest([]byte(a.k.Dir))
	return approval.Statement{
		Domain: "agentsmd", Action: "apply", Subject: a.id, Digest: digest([]byte(card)), Repository: sum[:32],
		Issued: a.k.Env.Now().UTC().Truncate(time.Second), Nonce: approval.NewNonce(), Card: strings.TrimRight(card, "\n"),
	}
}

// ask gets a person's yes to the selection.
func (a *applying) ask(context.Context) (approval.Given, error) {
	if a.o.Said.Confirm == nil {
		return approval.Given{}, approval.ErrNoTerminal
	}
	return a.o.Said.Confirm(a.statement())
}

// said is a yes by quoted words: a claim.
func said(s Said) Yes {
	words, _ := boundary.Redact(s.Words)
	return Yes{Method: approval.MethodStatement, Words: words, From: cmp.Or(s.From, "chat")}
}

// agree takes the yes of this call: the user's permission for Auto, his words, or what he typed
// on the terminal, which must be to the selection as it is now.
func (a *applying) agree(ctx context.Context, given *approval.Given) error {
	switch {
	case a.o.Auto:
		return a.agreed(ctx, Yes{Method: "auto"})
	case given == nil:
		return a.agreed(ctx, said(a.o.Said))
	case given.Statement.Digest != digest([]byte(a.card())):
		return fault("plan-stale", "", "the selection changed while it was confirmed")
	}
	return a.agreed(ctx, Yes{Method: given.Method, Text: given.Statement.Text(), Proof: given.Proof})
}

// agreed holds a yes to what the policy of every target asks for.
func (a *applying) agreed(ctx context.Context, yes Yes) error {
	a.yes = yes
	a.yes.At = a.k.now()
	if a.k.Env.Who != nil {
		name, email, _ := a.k.Env.Who(ctx)
		a.yes.By = approval.Person{Name: strings.ToValidUTF8(name, "?"), Email: strings.ToValidUTF8(email, "?")}
	}
	if a.o.Auto {
		return nil
	}
	for _, d := range a.selected {
		if err := a.k.enough(ctx, d.Root, yes); err != nil {
			return err
		}
	}
	return nil
}

// enough holds a yes to what the policy of a project asks for; the global file, "", asks for none.
func (k *Keeper) enough(ctx context.Context, root string, yes Yes) error {
	if k.Policy == nil || root == "" {
		return nil
	}
	return k.Policy(ctx, root, yes)
}

// TooWeak is the refusal of a yes that is less than a project asks for.
func TooWeak(root string, yes Yes, least approval.Level) error {
	return fault("approval-weak", "", "%s asks for %s, and this is a %s", root, least, yes.Method)
}
