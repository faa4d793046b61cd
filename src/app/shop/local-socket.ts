import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { type Server, serveSocket, type ToNodes } from '../../api/serve.ts'
import type { Log } from '../../core/log.ts'
import { type Config, joinFolder, shopSocket } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'
import { isListening, taken } from './taken.ts'

/** Length of a socket path that every system allows. */
const maxPathBytes = 103

/** Opens the socket for nodes of this machine, if there are any. A running shop of this folder keeps it. */
export async function openLocalSocket(config: Config, toNodes: ToNodes, log: Log): Promise<Server | undefined> {
  const folder = joinFolder(config.folder)
  if (config.localNodes.length === 0 && !existsSync(folder)) return undefined
  const path = shopSocket(config.folder)
  if (Buffer.byteLength(path) > maxPathBytes) {
    throw new BadSetting(`TURNPIKE_DATA (--data) is too long for a socket in it: ${path} has more than 103 bytes.`)
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  if (await isListening(path)) {
    if (config.localNodes.length > 0) throw taken(config)
    log.warn('socket taken', { path, explanation: 'another shop of this data folder serves the nodes of this machine' })
    return undefined
  }
  rmSync(path, { force: true })
  return serveSocket(path, toNodes)
}
