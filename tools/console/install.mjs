import { join } from 'node:path'
import { root, run } from '../../bin/runtime.mjs'

// npx installs the checkout it is called in before every command; nothing is to be built for that.
if (process.env['npm_command'] !== 'exec') run([join(root, 'tools/console/run.ts')])
