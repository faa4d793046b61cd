import { type Config, shopSocket } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'

const answerWithinMs = 1_000

/** Whether a shop answers at a socket. */
export const isAnswered = (path: string): Promise<boolean> =>
  fetch('http://localhost/node/v1/', { unix: path, signal: AbortSignal.timeout(answerWithinMs) }).then(
    () => true,
    () => false,
  )

export const taken = (config: Config): BadSetting =>
  new BadSetting(`Another Turnpike is open on ${config.folder}. End it first, or use another TURNPIKE_DATA (--data).`)

/** Refuses a data folder that another Turnpike is open on, before a gateway is started as if it were that one's. */
export async function assertNotTaken(config: Config): Promise<void> {
  if (await isAnswered(shopSocket(config.folder))) throw taken(config)
}
