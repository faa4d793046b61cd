import { findProgram, programPath } from './run.ts'

const readyWithinMs = 5_000
const readyPollMs = 20
const endsWithinMs = 2_000
const mostComplaint = 2_000

/** The socket on which wireguard-go takes commands for a device. */
export const socketPath = (device: string): string => `/var/run/wireguard/${device}.sock`

/**
 * Whether a process accepts connections on the socket. `wg` cannot be asked while wireguard-go starts: it deletes a
 * socket that refuses a connection, also one that is bound and does not listen yet, and wireguard-go ends when its
 * socket is deleted.
 */
export const isListening = (path: string): Promise<boolean> =>
  Bun.connect({ unix: path, socket: { data: () => {} } }).then(
    (socket) => {
      socket.end()
      return true
    },
    () => false,
  )

/** Starts wireguard-go in the foreground, as a child that the kernel ends together with this process. */
export async function startUserspace(name: string): Promise<{ close: () => Promise<void> }> {
  const program = findProgram('wireguard-go')
  if (program === undefined) throw new Error('this kernel has no WireGuard, and wireguard-go is not installed')
  const leash = findProgram('setpriv')
  const command = [...(leash === undefined ? [] : [leash, '--pdeathsig', 'KILL']), program, '-f', name]
  const child = Bun.spawn(command, {
    env: { PATH: programPath, LOG_LEVEL: 'error' },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  let complaint = ''
  const listening = listen(child.stderr, (text) => {
    complaint = (complaint + text).slice(-mostComplaint)
  })
  const close = async () => {
    child.kill('SIGTERM')
    const killer = setTimeout(() => child.kill('SIGKILL'), endsWithinMs)
    await child.exited
    clearTimeout(killer)
    await listening
  }
  const giveUpAt = performance.now() + readyWithinMs
  while (!(await isListening(socketPath(name)))) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > giveUpAt) {
      await close()
      throw new Error(`wireguard-go did not start: ${complaint.trim()}`)
    }
    await Bun.sleep(readyPollMs)
  }
  return { close }
}

async function listen(stream: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  for await (const piece of stream) take(decoder.decode(piece, { stream: true }))
}
