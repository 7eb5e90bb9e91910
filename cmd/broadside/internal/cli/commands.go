package cli

import "github.com/spf13/cobra"

// commands lists every command once, in the order of the help text within its group.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		// write and review
		a.cmdNew(), a.cmdValidate(), a.cmdPreview(), a.cmdPlan(),
		// publish
		a.cmdRun(), a.cmdStatus(), a.cmdResolve(), a.cmdHold(), a.cmdRelease(), a.cmdCancel(),
		// set up and look after
		a.cmdInit(), a.cmdAuth(), a.cmdLedger(), a.cmdDemo(), a.cmdSandbox(), a.cmdProviders(), a.cmdSchema(), a.cmdVersion(),
	}
}
