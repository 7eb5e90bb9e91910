# Reads the output of go test -v. A package that passes becomes one line with its counts and the names of the tests that
# were skipped, or nothing where it had no test to run; all that a failing one said is shown.

{ held = held $0 "\n" }

/^ *--- PASS: / { passed++ }

/^ *--- SKIP: / {
  skipped++
  names = names "\n      skipped: " $3
}

/^(ok  |FAIL|\?   )\t/ {
  if ($1 == "FAIL")
    printf "%s", held
  else if (passed + skipped > 0)
    printf "%s  %d passed%s%s\n", $0, passed, skipped ? ", " skipped " skipped" : "", names
  fflush()
  held = names = ""
  passed = skipped = 0
}

END { printf "%s", held }
