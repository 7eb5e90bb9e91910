package cli

import (
	"fmt"
	"strings"
)

// configText is the broadside.yaml that init writes.
func configText(zone, branch, id, signer string, recipients []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# broadside publishes the posts in this repository. `+"`broadside schema config`"+` prints a schema for editors.
version: 1
timezone: %s # for times that are written without an offset
posts: [posts]
publish_within: 24h # a post that could not go out for this long after its time does not go out any more

# The record of what was published, on a branch of its own. Never change these lines by hand.
ledger:
  branch: %s
  id: %s
  signer: %s

# Who can open the files in credentials/: the public halves of their keys. These lines are not secret.
age:
  recipients:
`, zone, branch, id, signer)
	for _, r := range recipients {
		fmt.Fprintf(&b, "    - %s\n", r)
	}
	b.WriteString(`
# Where posts go. Take the # away from the ones you want, put your own names in, and then run for each:
#   broadside auth add NAME
# It asks for the password or token, encrypts it, and adds the line target: here. ` + "`broadside providers`" + ` lists all networks.
destinations:
#  bluesky:
#    provider: bluesky
#    account: you.bsky.social
#  fosstodon:
#    provider: mastodon
#    server: https://fosstodon.org
#    settings: {visibility: public}
#  website:
#    provider: webhook

# Names for several destinations at once, and for people, whose handles differ from network to network.
# groups: {all: [bluesky, fosstodon]}
# people: {alice: {bluesky: alice.example.com, fosstodon: alice@hachyderm.io}}
`)
	return b.String()
}

// welcomeText is the first post. It has no time: it does not go out by accident.
func welcomeText(folder string) string {
	return `---
id: welcome
title: Hello
# Without publish_at a post is a draft. To schedule it, take the # away and set both:
# publish_at: 2030-01-31 09:00
# destinations: [bluesky, fosstodon]
---

Hello! This repository publishes my posts: one file in ` + "`" + folder + "/`" + ` is one post.

<!-- A line of three dashes between blank lines starts the next part of a thread. An image alone in its paragraph is attached,
with its alt text. Comments like this one are never published. ` + "`broadside preview`" + ` shows what each network will get. -->
`
}

// workflowText is the job for GitHub Actions, which Forgejo and Gitea understand too.
func workflowText(branch, ledger, version string) string {
	return fmt.Sprintf(`# Written by `+"`broadside init`"+`. It publishes what is due on branch %[1]s, and checks pull requests.
name: broadside

on:
  schedule:
    # GitHub starts these late when it is busy, least so at odd minutes. In a private repository each start is billed as one
    # minute: make them rarer if that matters.
    - cron: "7,22,37,52 * * * *"
  push:
    branches: [%[1]s]
  pull_request:
  workflow_dispatch:

permissions: {}

jobs:
  check:
    if: github.event_name == 'pull_request'
    runs-on: ubuntu-latest
    timeout-minutes: 10
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@v5
        with:
          fetch-depth: 1
          persist-credentials: false
      - name: install broadside
        run: GOBIN="$RUNNER_TEMP/bin" go install %[2]s/cmd/broadside@%[3]s
      - name: validate
        run: exec "$RUNNER_TEMP/bin/broadside" validate --format github

  publish:
    if: github.event_name != 'pull_request' && github.ref_name == '%[1]s'
    runs-on: ubuntu-latest
    # Holds the secret BROADSIDE_AGE_KEY. Limit the environment to branch %[1]s: then no other branch can read the secret.
    environment: broadside
    permissions:
      contents: write # to push %[4]s and %[4]s-mark, nothing else
    # Two runs at once are safe. One after the other is cheaper, and one that is at work is never cancelled.
    concurrency:
      group: broadside
      cancel-in-progress: false
    steps:
      - uses: actions/checkout@v5
        with:
          fetch-depth: 1
          persist-credentials: false
      - name: install broadside
        run: GOBIN="$RUNNER_TEMP/bin" go install %[2]s/cmd/broadside@%[3]s
      - name: publish what is due
        # On the step, so that what happened is still recorded.
        timeout-minutes: 20
        env:
          BROADSIDE_AGE_KEY: ${{ secrets.BROADSIDE_AGE_KEY }}
          GITHUB_TOKEN: ${{ github.token }}
        # What only waits goes out with a later run: no reason for a red job.
        run: exec "$RUNNER_TEMP/bin/broadside" run --waiting-ok
      - name: keep results that could not be pushed
        # The runner's disk is gone after the job. `+"`broadside ledger apply FILE`"+` brings them in.
        if: failure() || cancelled()
        uses: actions/upload-artifact@v4
        with:
          name: broadside-results
          path: ${{ runner.temp }}/broadside-results-*.json
          if-no-files-found: ignore
`, branch, modulePath, version, ledger)
}
