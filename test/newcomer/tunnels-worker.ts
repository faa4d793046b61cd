/**
 * Somebody who is connected: keeps tunnels open through a proxy and talks through all of them, in the network of the
 * machine that is tried. Takes a proxy's address, a number and where to speak to; says `open` when all are, and once
 * its input ends how many broke and how many words went through.
 */
import { openTunnel, startEcho } from '../harness/tunnel.ts'

const [proxy = '', count = '0', place = ''] = process.argv.slice(2)
const { hostname, port, username, password } = new URL(proxy)
const echo = startEcho(place)
const at = { host: hostname, port: Number(port) }
const open = () => openTunnel('http', at, { username, password }, echo.spot)
const tunnels = await Promise.all(Array.from({ length: Number(count) }, open))
const told = { isOver: false }
let words = 0
const word = 'x'.repeat(700)

const lanes = Promise.all(
  tunnels.map(async (tunnel) => {
    try {
      while (!told.isOver) {
        if ((await tunnel.echo(word)) !== word) return false
        words += 1
        await Bun.sleep(50)
      }
      return true
    } catch {
      return false
    }
  }),
)
console.log('open')
for await (const _ of process.stdin);
told.isOver = true
const broken = (await lanes).filter((isWhole) => !isWhole).length
console.log(JSON.stringify({ broken, words }))
process.exit(0)
