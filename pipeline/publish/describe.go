package publish

import "github.com/broadside-pub/broadside/pipeline/ledger"

// Describe says a ledger's trouble in words, with what to do about it.
func Describe(t ledger.Trouble) Trouble { return describe(t) }
