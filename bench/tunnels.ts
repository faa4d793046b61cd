import { join } from 'node:path'
import type { Stage } from './stage.ts'

/** How a tunnel is opened, and its credentials. */
export type Route = {
  /**
   * `tls` is CONNECT over TLS, `tls-resumed` the same with the TLS session of an earlier tunnel. The others are
   * protocols of VPN devices over TLS: the user is the device's key and the password its path.
   */
  readonly way: 'direct' | 'connect' | 'socks' | 'tls' | 'tls-resumed' | 'vless' | 'trojan' | 'ws' | 'xhttp'
  /** `address:port` of the proxy, on this machine. */
  readonly endpoint: string
  readonly user: string
  readonly password: string
}

export const directRoute: Route = { way: 'direct', endpoint: '', user: '', password: '' }

/**
 * So many tunnels at once for so long, each requesting so many bytes from the origin; `rate` limits new tunnels per
 * second.
 */
type TunnelPlan = {
  readonly route: Route
  readonly tunnels: number
  readonly bytes: number
  readonly seconds: number
  readonly rate?: number
}

/** `tunnels` were opened, had every byte compared and ended in order; `errors` are all others. */
export type TunnelResult = {
  readonly tunnels: number
  readonly errors: number
  readonly firstError: string
  readonly bytes: number
  /** Tunnels whose TLS session was resumed. */
  readonly resumed: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Open idle tunnels. Releasing them relays their bytes once more and counts those that still work. */
type Held = { readonly opened: TunnelResult; readonly release: () => Promise<TunnelResult> }

export type Tunnels = {
  readonly originPort: number
  readonly run: (plan: TunnelPlan) => Promise<TunnelResult>
  readonly hold: (plan: TunnelPlan) => Promise<Held>
  /** Opens connections that send the beginning of a ClientHello. Ends them when released. */
  readonly holdHalfOpen: (endpoint: string, connections: number) => Promise<{ release: () => Promise<void> }>
}

const toPaths = (...names: readonly string[]): string[] => names.map((name) => join(import.meta.dir, name))

const halfOpenSeconds = 120

/** Compiles bench/tunnel-load.c and starts its origin. Undefined without a C compiler. TLS needs OpenSSL's headers. */
export async function openTunnels(stage: Stage, withTls = false): Promise<Tunnels | undefined> {
  const compiler = Bun.which('cc')
  if (compiler === null) return undefined
  const program = join(stage.makeFolder(), 'tunnel-load')
  const sources = toPaths('tunnel-load.c', 'tunnel-origin.c')
  const tls = withTls ? ['-DWITH_TLS', ...toPaths('tunnel-tls.c', 'tunnel-device.c'), '-lcrypto'] : []
  const compiled = Bun.spawnSync([compiler, '-O2', '-o', program, ...sources, ...tls])
  if (!compiled.success) throw new Error(`bench/tunnel-load.c does not compile:\n${compiled.stderr.toString()}`)
  const spawn = (args: readonly string[]) =>
    Bun.spawn([program, ...args], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })

  const origin = spawn(['origin'])
  stage.atEnd(async () => {
    origin.kill()
    await origin.exited
  })
  const { port: originPort } = JSON.parse(await createLines(origin.stdout)()) as { port: number }

  const argsOf = ({ route, tunnels, bytes, seconds, rate = 0 }: TunnelPlan): string[] =>
    [route.way, route.endpoint, originPort, tunnels, bytes, seconds, rate, route.user, route.password].map(String)

  return {
    originPort,

    async run(plan) {
      const child = spawn(['run', ...argsOf(plan)])
      const result = JSON.parse(await createLines(child.stdout)()) as TunnelResult
      await child.exited
      return result
    },

    async holdHalfOpen(endpoint, connections) {
      const child = spawn(['half', endpoint, String(connections), String(halfOpenSeconds)])
      stage.atEnd(() => child.kill())
      await createLines(child.stdout)()
      return {
        async release() {
          await child.stdin.end()
          await child.exited
        },
      }
    },

    async hold(plan) {
      const child = spawn(['hold', ...argsOf(plan)])
      stage.atEnd(() => child.kill())
      const nextLine = createLines(child.stdout)
      const opened = JSON.parse(await nextLine()) as TunnelResult
      return {
        opened,
        async release() {
          await child.stdin.end()
          const released = JSON.parse(await nextLine()) as TunnelResult
          await child.exited
          return released
        },
      }
    },
  }
}

/** Returns one line of a program's output after another. */
export function createLines(stream: ReadableStream<Uint8Array>): () => Promise<string> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let text = ''
  return async () => {
    for (;;) {
      const end = text.indexOf('\n')
      if (end >= 0) {
        const line = text.slice(0, end)
        text = text.slice(end + 1)
        return line
      }
      const { done, value } = await reader.read()
      if (done) throw new Error('the load generator ended without an outcome')
      text += decoder.decode(value, { stream: true })
    }
  }
}
