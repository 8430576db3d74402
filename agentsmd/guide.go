package agentsmd

import _ "embed"

// GuideVersion grows with every change of the guide that a reviewer would judge by.
const GuideVersion = 1

// Guide is what a reviewer is told: how to judge, and in which form to answer.
//
//go:embed guide.md
var Guide string
