import { join } from 'node:path'
import type { CostTargets, ProxyPeer } from './compare-proxies.ts'
import type { CertificateFiles } from './gateway-shop.ts'
import { withManyFiles } from './shop-process.ts'
import type { Stage } from './stage.ts'
import { createLines } from './tunnels.ts'

const user = 'bench'
const password = 'bench-password'

/** Our processor time against the limit's. */
export const plainLimitTargets: CostTargets = { 'new tunnels': { max: 1.5 }, bulk: { max: 1.5 } }
export const tlsLimitTargets: CostTargets = { 'new tunnels': { max: 1.35 }, bulk: { max: 1.2 } }

/**
 * Compiles bench/limit.c and starts it: a minimal relay in C, as a reference for the processor time. With a
 * certificate it does TLS.
 */
export async function startLimit(stage: Stage, certificate?: CertificateFiles): Promise<ProxyPeer> {
  const program = join(stage.makeFolder(), 'limit')
  const tls = certificate ? ['-DWITH_TLS', '-lssl', '-lcrypto'] : []
  const compiled = Bun.spawnSync(['cc', '-O2', '-o', program, join(import.meta.dir, 'limit.c'), ...tls])
  if (!compiled.success) throw new Error(`bench/limit.c does not compile:\n${compiled.stderr.toString()}`)
  const login = Buffer.from(`${user}:${password}`).toString('base64')
  const files = certificate ? [certificate.cert, certificate.key] : []
  const child = Bun.spawn(withManyFiles([program, login, ...files]), { stdin: 'ignore', stdout: 'pipe' })
  stage.atEnd(async () => {
    child.kill()
    await child.exited
  })
  const { port } = JSON.parse(await createLines(child.stdout)()) as { port: number }
  const endpoint = `127.0.0.1:${port}`
  return {
    name: 'the limit',
    does: 'minimal C, one thread',
    pid: child.pid,
    memoryPids: () => [child.pid],
    route: { way: certificate ? 'tls' : 'connect', endpoint, user, password },
    targets: {},
    costTargets: certificate ? tlsLimitTargets : plainLimitTargets,
  }
}
