// Package schemas holds the JSON Schemas of broadside's files and outputs.
package schemas

import "embed"

// Files holds every *.schema.json of this folder.
//
//go:embed *.schema.json
var Files embed.FS
