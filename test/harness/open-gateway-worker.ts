/**
 * Opens the gateway of the environment's settings as its command does, and prints the events that it had logged when
 * systemd would learn that it is ready, as one line of JSON. Then it ends without stopping the gateway.
 */
import { openGateway } from '../../src/app/node/gateway.ts'
import { readConfig } from '../../src/app/settings/config.ts'

const events: string[] = []
const note = (event: string): void => void events.push(event)
const log = { error: note, warn: note, info: note, debug: note }
const gateway = await openGateway(readConfig(process.env), log, new AbortController().signal)
process.stdout.write(JSON.stringify({ isReady: gateway !== undefined, events }))
process.exit(0)
