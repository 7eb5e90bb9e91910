package cli

import (
	"errors"
	"fmt"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// inPeoplesWords says why a person's decision is not possible, without the ledger's own terms. Other errors stay.
func inPeoplesWords(err error, s *ledger.State) error {
	var no *ledger.IllegalError
	if !errors.As(err, &no) || no.Delivery.Post == "" {
		return err
	}
	what := no.Delivery.Post
	if d := s.Deliveries[no.Delivery]; d != nil {
		what += " at " + d.Dest
	}
	return hinted{errors.New(what + " " + whyNot(no)), "`broadside status " + no.Delivery.Post + "` shows where it stands"}
}

func whyNot(no *ledger.IllegalError) string {
	if no.Code != ledger.CodeState && no.Code != ledger.CodeBusy {
		return "stays as it is: " + no.Why
	}
	is := "is " + string(no.State)
	if no.State == "" {
		return "stays as it is: " + no.Why
	}
	switch no.State {
	case pipeline.Publishing:
		return is + ": the run that is at it will end it"
	case pipeline.Adopted:
		return "counts as published: there is nothing to decide"
	case pipeline.Scheduled, pipeline.Queued, pipeline.Published, pipeline.Failed, pipeline.Uncertain, pipeline.Canceled, pipeline.Retracted:
	}
	switch no.Move { //nolint:exhaustive // all others are no person's
	case ledger.MoveRetry:
		if no.State == pipeline.Scheduled || no.State == pipeline.Queued {
			return is + ": it goes out by itself"
		}
		if no.State == pipeline.Canceled {
			return is + ": to send it, give its file a new publish_at"
		}
		return is + ": there is nothing to retry"
	case ledger.MovePersonCancel:
		return is + ": there is nothing to cancel"
	case ledger.MovePersonPublish, ledger.MoveReceipt:
		return is + ": there is nothing more to say of it"
	}
	return fmt.Sprintf("%s: %s", is, no.Why)
}
