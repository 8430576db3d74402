package commands

// class says what a command can do to the world (seed 004, "Side-effect classes").
type class string

const (
	readOnly        class = "read_only"        // looks; private caches and log lines do not count
	reversibleWrite class = "reversible_write" // files of the clone, under lock and revision; Git can bring them back
	externalWrite   class = "external_write"   // files outside of the clone
	externalSend    class = "external_send"    // nothing does
	financialLegal  class = "financial_legal"  // nothing does
	destructive     class = "destructive"      // takes away what nothing brings back; a person must say yes to a preview
)

// lane says who may carry a command out.
type lane string

const (
	anyone lane = "any"
	human  lane = "human" // through a yes of a person, at the level that the policy asks for
)

// effect is the class and lane of a command, or of one of its forms: "recover --resolve".
type effect struct {
	form  string // words below the program, and the flag that makes it another thing
	class class
	lane  lane
}

// effects are those of every command of the tree; a test holds the two together.
var effects = []effect{
	{"init", reversibleWrite, anyone},
	{"init --dry-run", readOnly, anyone},
	{"lint", readOnly, anyone},
	{"lint --write-baseline", reversibleWrite, anyone},
	{"lint --output", externalWrite, anyone},
	{"explain", readOnly, anyone},
	{"skmb init", reversibleWrite, anyone},
	{"skmb init --dry-run", readOnly, anyone},
	{"skmb check", readOnly, anyone},
	{"skmb check --write-baseline", reversibleWrite, anyone},
	{"skmb check --output", externalWrite, anyone},
	{"skmb new", reversibleWrite, anyone},
	{"skmb submit", reversibleWrite, anyone},
	{"skmb approve", reversibleWrite, human},
	{"skmb permit-default", reversibleWrite, human},
	{"skmb supersede", reversibleWrite, human},
	{"skmb reject", reversibleWrite, anyone},
	{"skmb withdraw", reversibleWrite, anyone},
	{"skmb open", reversibleWrite, anyone},
	{"skmb index", reversibleWrite, anyone},
	{"skmb index --check", readOnly, anyone},
	{"skmb list", readOnly, anyone},
	{"skmb show", readOnly, anyone},
	{"skmb debt", readOnly, anyone},
	{"skmb archive now", reversibleWrite, anyone},
	{"skmb archive verify", readOnly, anyone},
	{"skmb lookup", readOnly, anyone},
	{"skmb checkpoint", readOnly, anyone},
	{"skmb graph", readOnly, anyone},
	{"skmb states", readOnly, anyone},
	{"skmb basis print", readOnly, anyone},
	{"skmb basis check", readOnly, anyone},
	{"skmb resolve", reversibleWrite, anyone},
	{"skmb merge-driver", reversibleWrite, anyone},
	{"skmb backfill", reversibleWrite, anyone},
	{"skmb log", readOnly, anyone},
	{"skmb fix", reversibleWrite, anyone},
	{"skmb fix --dry-run", readOnly, anyone},
	{"skmb classify", readOnly, anyone},
	{"agentsmd collect", reversibleWrite, anyone},
	{"agentsmd chunk", reversibleWrite, anyone},
	{"agentsmd guide", readOnly, anyone},
	{"agentsmd evidence", readOnly, anyone},
	{"agentsmd submit decisions", reversibleWrite, anyone},
	{"agentsmd submit global", reversibleWrite, anyone},
	{"agentsmd candidates", reversibleWrite, anyone},
	{"agentsmd reconcile", reversibleWrite, anyone},
	{"agentsmd show", readOnly, anyone},
	{"agentsmd apply", reversibleWrite, human},
	{"agentsmd reject", reversibleWrite, anyone},
	{"agentsmd amend", reversibleWrite, anyone},
	{"agentsmd amend --apply", reversibleWrite, human},
	{"agentsmd withdraw", reversibleWrite, human},
	{"agentsmd restore", reversibleWrite, human},
	{"agentsmd adopt", reversibleWrite, human},
	{"agentsmd prefer", reversibleWrite, human},
	{"agentsmd check", readOnly, anyone},
	{"agentsmd check --write-baseline", reversibleWrite, anyone},
	{"agentsmd check --output", externalWrite, anyone},
	{"agentsmd rules", readOnly, anyone},
	{"agentsmd why", readOnly, anyone},
	{"agentsmd status", readOnly, anyone},
	{"agentsmd report", readOnly, anyone},
	{"agentsmd recover", reversibleWrite, anyone},
	{"agentsmd recover --set-log-aside", destructive, human},
	{"approve", reversibleWrite, human},
	{"reject", reversibleWrite, anyone},
	{"inbox", readOnly, anyone},
	{"report", readOnly, anyone},
	{"report --output", externalWrite, anyone},
	{"install", reversibleWrite, anyone},
	{"install --dry-run", readOnly, anyone},
	{"install --print", readOnly, anyone},
	{"uninstall", destructive, human},
	{"uninstall --dry-run", readOnly, anyone},
	{"doctor", readOnly, anyone},
	{"recover", reversibleWrite, anyone},
	{"recover --resolve", destructive, human},
	{"audit show", readOnly, anyone},
	{"audit verify", readOnly, anyone},
	{"schema", readOnly, anyone},
	{"submit", reversibleWrite, anyone},
	{"probe", readOnly, anyone},
	{"demo", readOnly, anyone},
	{"completion", readOnly, anyone},
	{"hook", readOnly, anyone},
}
