import { run } from '../bin/runtime.mjs'

run(process.argv.slice(2))
