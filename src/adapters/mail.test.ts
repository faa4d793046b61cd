import { expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import { HandTiming } from '../../test/harness/hand-timing.ts'
import { until } from '../../test/harness/until.ts'
import { createLog } from './log.ts'
import { createMail } from './mail.ts'

/** An SMTP server that refuses every RCPT TO with 550 and repeats the recipient in its reply. */
async function startRefusing(): Promise<{ url: string; refused: Promise<void>; close(): void }> {
  const { promise: refused, resolve } = Promise.withResolvers<void>()
  const talk = (socket: Socket) => {
    socket.write('220 here\r\n')
    socket.on('error', () => socket.destroy())
    socket.on('data', (data) => {
      const line = data.toString('latin1').trim()
      const recipient = /^RCPT TO:<(.+)>/i.exec(line)?.[1]
      if (recipient !== undefined) resolve()
      socket.write(recipient === undefined ? '250 yes\r\n' : `550 5.1.1 <${recipient}>: nobody of that name\r\n`)
    })
  }
  const server = createServer(talk)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return { url: `smtp://127.0.0.1:${port}`, refused, close: () => server.close() }
}

test('the mail adapter logs the kind and the status 550 of a refused message, without its recipient, subject and text', async () => {
  const server = await startRefusing()
  const lines: string[] = []
  const log = createLog('info', 'shop', (line) => lines.push(line))
  const mail = createMail({ url: server.url, from: 'shop@example.com' }, log)
  mail.post({
    kind: 'confirm',
    to: 'anna@example.com',
    subject: 'Balance 540.00',
    text: 'https://shop.example.com/#confirm=1',
  })
  await server.refused
  await mail.close()
  server.close()
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { event: 'letter not sent', kind: 'confirm', tried: 1, reason: 'EENVELOPE', status: 550 },
    { event: 'letter dropped', kind: 'confirm' },
  ])
  for (const hidden of ['anna', '540.00', 'confirm=1']) expect(lines.join()).not.toContain(hidden)
})

test('send tells that a recipient was refused for good (550), and that a server without an open port may take it later', async () => {
  const server = await startRefusing()
  const mail = createMail(
    { url: server.url, from: 'shop@example.com' },
    createLog('info', 'shop', () => {}),
  )
  const letter = { kind: 'expiry', id: 'let_1', to: 'anna@example.com', subject: 'a', text: 'b' }
  expect(await mail.send(letter)).toBe('refused')
  server.close()
  await mail.close()
  const closed = createMail(
    { url: 'smtp://127.0.0.1:1', from: 'shop@example.com' },
    createLog('info', 'shop', () => {}),
  )
  expect(await closed.send(letter)).toBe('later')
  await closed.close()
})

test('a letter is tried for 21 minutes while no mail server answers, does not hold up others, and a stop drops the rest', async () => {
  const events: string[] = []
  const note = (event: string, fields?: object) => events.push(`${event} ${String(Object(fields).kind)}`)
  const timing = new HandTiming()
  const url = 'smtp://127.0.0.1:1'
  const mail = createMail({ url, from: 'shop@example.com' }, { info: note, error: note }, timing.after)
  const post = (kind: string) => mail.post({ kind, to: 'anna@example.com', subject: 'a', text: 'b' })
  post('enter')
  post('reset')
  const refusals = (kind: string) => events.filter((each) => each === `letter not sent ${kind}`).length
  for (const [tries, pauseMs] of [5000, 15_000, 60_000, 300_000, 900_000].entries()) {
    await until(() => refusals('reset') === tries + 1 && refusals('enter') === tries + 1)
    expect(events).not.toContain('letter dropped enter')
    await timing.advance(pauseMs)
  }
  await until(() => events.includes('letter dropped reset'))
  expect([refusals('enter'), refusals('reset')]).toEqual([6, 6])
  post('confirm')
  await until(() => refusals('confirm') === 1)
  await mail.close()
  expect(events.slice(-2)).toEqual(['letter not sent confirm', 'letter dropped confirm'])
})
