/** Whether a server accepts connections at this port. */
export async function accepts(port: number, hostname = '127.0.0.1'): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname, port, socket: { data() {} } })
    socket.end()
    return true
  } catch {
    return false
  }
}
