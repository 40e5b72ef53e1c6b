// Package structure holds the repository to its structure: which package may
// import which, each rule with its reason, and that every package says what it
// is for. It has tests only.
package structure
