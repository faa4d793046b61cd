/**
 * Keeps tunnels open through a proxy and sends data through all of them. Arguments: the proxy’s URL, the number of
 * tunnels and the address of the destination. Prints `open` once all are open, and after stdin closes the number of
 * broken tunnels and of messages sent.
 */
import { openTunnel, startEcho } from '../harness/tunnel.ts'

const [proxy = '', count = '0', echoAddress = ''] = process.argv.slice(2)
const { hostname, port, username, password } = new URL(proxy)
const echo = startEcho(echoAddress)
const at = { host: hostname, port: Number(port) }
const open = () => openTunnel('http', at, { username, password }, echo.spot)
const tunnels = await Promise.all(Array.from({ length: Number(count) }, open))
const state = { isOver: false }
let messages = 0
const message = 'x'.repeat(700)

const lanes = Promise.all(
  tunnels.map(async (tunnel) => {
    try {
      for (;;) {
        // The last message is sent after stdin closed: it finds every tunnel that was cut off before.
        const isLast = state.isOver
        if ((await tunnel.echo(message)) !== message) return false
        messages += 1
        if (isLast) return true
        await Bun.sleep(200)
      }
    } catch {
      return false
    }
  }),
)
console.log('open')
for await (const _ of process.stdin);
state.isOver = true
const broken = (await lanes).filter((isWhole) => !isWhole).length
console.log(JSON.stringify({ broken, messages }))
process.exit(0)
