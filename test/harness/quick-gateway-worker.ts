/**
 * `turnpike gateway` with a tenth of the usual pauses between two rounds of address trials. `trials.test.ts` checks the
 * usual pauses.
 */

import { nodeCommand } from '../../src/app/node/command.ts'
import { openGateway } from '../../src/app/node/gateway.ts'
import { commonOptions } from '../../src/app/process.ts'
import { readGiven } from '../../src/cli/command.ts'
import { realTiming, type Timing } from '../../src/dataplane/agent/runtime.ts'

const quick: Timing = { now: realTiming.now, pause: (ms, end) => realTiming.pause(ms / 10, end) }
const quickCommand = nodeCommand('gateway', '', (config, log, end) => openGateway(config, log, end, false, quick))
const { command, given } = readGiven([quickCommand], ['gateway'], commonOptions)
const { exit } = await command.run(given)
process.exit(exit ?? 0)
