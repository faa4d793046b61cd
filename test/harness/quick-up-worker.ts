/**
 * `turnpike up` with a supervisor that pauses for a tenth of the usual time between two starts of a part. Its clock
 * runs ten times slower as well, so that it never gives up a part because the machine is slow. `supervise.test.ts`
 * checks the usual pauses. TURNPIKE_TEST_PROGRAM is the packed program, as which it starts the parts; without it they
 * start from the sources.
 */

import { commonOptions } from '../../src/app/process.ts'
import { createUpCommand } from '../../src/app/up.ts'
import { readGiven } from '../../src/cli/command.ts'
import { realTiming, type Timing } from '../../src/dataplane/agent/runtime.ts'

const quick: Timing = { now: () => realTiming.now() / 10, pause: (ms, end) => realTiming.pause(ms / 10, end) }
const packed = process.env['TURNPIKE_TEST_PROGRAM']
const toCommand = packed ? (args: readonly string[]): string[] => [packed, ...args] : undefined
const { command, given } = readGiven([createUpCommand(quick, toCommand)], ['up'], commonOptions)
const { exit } = await command.run(given)
process.exit(exit ?? 0)
