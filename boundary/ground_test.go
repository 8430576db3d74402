package boundary_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"assent/boundary"
)

const quoted = "# Policy\r\n\r\nRetry three times, then fail closed.\r\nNobody is allowed to skip it; it is disallowed.\nCafe\u0301 au lait is served.\n\nRetry  three\ttimes, then fail closed.\nok\nstop\n"

func TestGround(t *testing.T) {
	for _, c := range []struct {
		name, quote string
		within      *boundary.Span
		bytes       string // of the text
		line        int
		code        string
	}{
		{"as it stands", "Nobody is allowed to skip it", nil, "Nobody is allowed to skip it", 4, ""},
		{"over a line end of another system", "fail closed. Nobody is allowed", nil, "fail closed.\r\nNobody is allowed", 3, ""},
		{"with other blanks", "  Nobody\n is   allowed ", nil, "Nobody is allowed", 4, ""},
		{"composed for decomposed", "Caf\u00e9 au lait is", nil, "Cafe\u0301 au lait is", 5, ""},
		{"not half of a character", "Cafe au lait is", nil, "", 0, "ground-not-found"},
		{"twice", "Retry three times", nil, "", 0, "ground-ambiguous"},
		{"twice, the span says which", "Retry three times", &boundary.Span{Start: 100, End: len(quoted)}, "Retry  three\ttimes", 7, ""},
		{"twice, the span holds both", "Retry three times", &boundary.Span{Start: 0, End: len(quoted)}, "", 0, "ground-span"},
		{"the span holds none", "Nobody is allowed to", &boundary.Span{Start: 0, End: 20}, "", 0, "ground-span"},
		{"another case", "nobody is allowed to skip it", nil, "", 0, "ground-not-found"},
		{"other words", "everybody may skip it", nil, "", 0, "ground-not-found"},
		{"inside a word", "allowed to skip it; it is dis", nil, "", 0, "ground-mid-word"},
		{"a word that is part of another", "allowed", nil, "", 0, "ground-short"},
		{"short, a whole line", "stop", nil, "stop", 9, ""},
		{"short, a line too short", "ok", nil, "", 0, "ground-short"},
		{"short, part of a line", "lait is", nil, "", 0, "ground-short"},
		{"nothing", " \n", nil, "", 0, "ground-short"},
		{"bytes that are no text", "\xff\xfe", nil, "", 0, "ground-not-found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := boundary.Ground([]byte(quoted), c.quote, c.within)
			var ground *boundary.GroundError
			if errors.As(err, &ground) && ground.Code != "boundary/"+c.code || err == nil && c.code != "" {
				t.Fatalf("%+v, %v; want %q", got, err, c.code)
			}
			if c.code != "" {
				if c.code == "ground-ambiguous" && len(ground.Lines) != 2 {
					t.Errorf("the lines are %v", ground.Lines)
				}
				return
			}
			stands := quoted[got.Span.Start:got.Span.End]
			sum := sha256.Sum256([]byte(stands))
			if stands != c.bytes || got.Line != c.line || got.SHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("%q in line %d, want %q in line %d", stands, got.Line, c.bytes, c.line)
			}
		})
	}
	for name, source := range map[string]string{"binary": "text\x00text and more", "no UTF-8": "text \xff and more", "large": strings.Repeat("x", 4<<20+1)} {
		var ground *boundary.GroundError
		if _, err := boundary.Ground([]byte(source), "text and more of it", nil); !errors.As(err, &ground) || ground.Code != "boundary/ground-kind" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A cut out of a text, decomposed and spaced otherwise, is found where it was cut.
func TestGroundMangled(t *testing.T) {
	words := []string{"Größe", "naïve", "décision", "retry", "日本語", "fail", "closed,", "it's", "…", "¡ya!", "x_1", "Ångström"}
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 3000 {
		var b strings.Builder
		for range 40 {
			b.WriteString(words[random.IntN(len(words))])
			b.WriteString([]string{" ", "\n", "\r\n", "  ", "\t"}[random.IntN(5)])
		}
		source := b.String()
		if random.IntN(2) == 0 {
			source = norm.NFD.String(source)
		}
		fields := strings.Fields(source)
		from := random.IntN(20)
		quote := strings.Join(fields[from:from+10+random.IntN(8)], []string{" ", "\n", "   "}[random.IntN(3)])
		if random.IntN(2) == 0 {
			quote = norm.NFD.String(quote)
		}
		got, err := boundary.Ground([]byte(source), quote, nil)
		var ground *boundary.GroundError
		if errors.As(err, &ground) && ground.Code == "boundary/ground-ambiguous" {
			continue
		}
		if err != nil {
			t.Fatalf("round %d: %v\n%q\n%q", round, err, quote, source)
		}
		stands := source[got.Span.Start:got.Span.End]
		if a, b := strings.Join(strings.Fields(norm.NFC.String(stands)), " "), strings.Join(strings.Fields(norm.NFC.String(quote)), " "); a != b {
			t.Fatalf("round %d: %q is not %q", round, a, b)
		}
	}
}

// Whatever the texts are: no panic, and what is found reads back as the quote.
func FuzzGround(f *testing.F) {
	f.Add([]byte(quoted), "Nobody is allowed to skip it")
	f.Add([]byte("e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301 aaaa"), "\u00e9\u00e9\u00e9")
	f.Fuzz(func(t *testing.T, source []byte, quote string) {
		got, err := boundary.Ground(source, quote, nil)
		if err != nil {
			return
		}
		if got.Span.Start < 0 || got.Span.End > len(source) || got.Span.Start >= got.Span.End {
			t.Fatalf("%+v", got)
		}
		stands := string(source[got.Span.Start:got.Span.End])
		if !utf8.ValidString(stands) {
			t.Fatalf("%q", stands)
		}
		again, err := boundary.Ground(source, stands, &got.Span)
		if err != nil || again.Span != got.Span {
			t.Fatalf("%q found at %+v reads back as %+v, %v", stands, got, again, err)
		}
	})
}
