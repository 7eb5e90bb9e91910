// Command broadside publishes posts from a git repository.
package main

import (
	"os"

	_ "time/tzdata" // a runner without zone files knows the same zones

	"github.com/broadside-pub/broadside/cmd/broadside/internal/cli"
)

//go:generate go run ./internal/docsgen

func main() { os.Exit(cli.Main(os.Args[1:])) }
