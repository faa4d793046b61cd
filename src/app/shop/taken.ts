import { isBound } from '../../dataplane/agent/boots.ts'
import { type Config, shopSocket } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'

/** Whether a process listens at a socket. An accepted connection is enough; a killed shop leaves only the file. */
export const isListening = (path: string): Promise<boolean> =>
  Bun.connect({ unix: path, socket: { data() {} } }).then(
    (connection) => {
      connection.end()
      return true
    },
    () => isBound(path),
  )

export const taken = (config: Config): BadSetting =>
  new BadSetting(`Another Turnpike is open on ${config.folder}. End it first, or use another TURNPIKE_DATA (--data).`)

/** Refuses a data folder that another Turnpike uses, before a gateway joins that one. */
export async function assertNotTaken(config: Config): Promise<void> {
  if (await isListening(shopSocket(config.folder))) throw taken(config)
}
