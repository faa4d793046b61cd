#!/usr/bin/env node
import { join } from 'node:path'
import { root, run } from './runtime.mjs'

/** The environment that Turnpike reads. NODE_OPTIONS, BUN_* and LD_* would change the runtime that it runs on. */
const known =
  /^(TURNPIKE_\w+|PATH|HOME|PWD|SUDO_USER|TMPDIR|LANG|LC_\w+|TZ|TERM|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|NOTIFY_SOCKET|LISTEN_\w+|WATCHDOG_\w+|MAINPID|JOURNAL_STREAM|(CREDENTIALS|STATE|RUNTIME)_DIRECTORY)$/

run(
  [join(root, 'src/app/turnpike.ts'), ...process.argv.slice(2)],
  Object.fromEntries(Object.entries(process.env).filter(([name]) => known.test(name))),
)
