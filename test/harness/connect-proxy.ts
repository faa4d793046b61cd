import type { Socket } from 'bun'

type Destination = Socket<{ client: Socket<ClientData> }>
type ClientData = { destination?: Destination }

/** A supplier’s HTTP proxy: accepts any login, records it and connects to the destination unless isolated. */
export function startConnectProxy(port = 0) {
  let isOpen = true
  const logins: string[] = []
  const listener = Bun.listen<ClientData>({
    hostname: '127.0.0.1',
    port,
    socket: {
      open(socket) {
        socket.data = {}
      },
      async data(socket, bytes) {
        if (socket.data.destination) {
          socket.data.destination.write(bytes)
          return
        }
        const head = bytes.toString()
        const [, host = '.invalid', to = ''] = /^CONNECT (\S+):(\d+) /.exec(head) ?? []
        if (!isOpen || host.endsWith('.invalid')) {
          socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
          return
        }
        const basic = /Proxy-Authorization: Basic (\S+)/.exec(head)?.[1] ?? ''
        logins.push(Buffer.from(basic, 'base64').toString().split(':')[0] ?? '')
        socket.data.destination = await Bun.connect<{ client: Socket<ClientData> }>({
          hostname: host,
          port: Number(to),
          data: { client: socket },
          socket: {
            data: (destination, received) => void destination.data.client.write(received),
            close: (destination) => void destination.data.client.end(),
          },
        })
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
      },
      close: (socket) => void socket.data?.destination?.end(),
    },
  })
  return {
    port: listener.port,
    logins,
    /** Answers 502 to every later CONNECT. */
    isolate: () => {
      isOpen = false
    },
    stop: () => listener.stop(true),
  }
}
