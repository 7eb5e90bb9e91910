package gitstore

import (
	"context"
	"fmt"
)

// settleRace checks a lost race that the server reported for a request of ours over HTTP. Something on the way may have sent
// the request twice, as some proxies do; then the first copy has moved the refs, and the answer is to the second. tips gives
// the refs as they are afterwards.
func settleRace(ctx context.Context, err error, todo []Update, tips func(context.Context) (map[string]Hash, error)) (Outcome, error) {
	now, terr := tips(ctx)
	if terr != nil {
		return Unknown, fmt.Errorf("%w: %w; and looking again failed: %w", ErrUnknownOutcome, err, terr)
	}
	for _, u := range todo {
		if now[u.Ref] != u.New.Commit() {
			return LostRace, err
		}
	}
	return Landed, nil
}
