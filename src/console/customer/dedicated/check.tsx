import { Button, Progress, Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { Proxy } from '../../client/customer.ts'
import { messages, pair, phrase, useMessages } from '../../shared/messages.tsx'
import { sayProbe } from '../../shared/notes.tsx'
import { Notice, RefusalNotice, Rows, Status } from '../../shared/parts.tsx'
import { api, type CustomerAnswer } from '../api.ts'
import { sendBatches, toBatches } from './batches.ts'
import { nameOf } from './endpoint.ts'

const checkMessages = messages({
  check: pair('Check', 'Проверить'),
  checkAll: pair('Check all', 'Проверить все'),
  checkAbout: pair(
    'The shop connects through each proxy, as your program does.',
    'Магазин подключается через каждый прокси, как ваша программа.',
  ),
  stop: pair('Stop', 'Остановить'),
  goOn: pair('Check the others', 'Проверить остальные'),
  checked: phrase('{done} of {all} checked', 'Проверено {done} из {all}'),
  works: phrase('It works: a connection took {ms} ms.', 'Работает: соединение заняло {ms} мс.'),
  allWork: phrase(
    'All {count} work. The slowest connection took {ms} ms.',
    'Все работают: {count}. Самое долгое соединение заняло {ms} мс.',
  ),
  someFail: phrase('{works} work, {fails} do not.', 'Работают: {works}, не работают: {fails}.'),
  failed: pair('Proxies that do not work', 'Неработающие прокси'),
  cause: pair('Cause', 'Причина'),
})

type Checked = CustomerAnswer<'checkProxy'>

/** Checks that run at the same time. Each opens a connection of the shop, which may wait for its time limit. */
const lanes = 4

/**
 * Checks proxies one after another in a few lanes. A stop, or a refusal that waiting does not cure, keeps the results
 * so far; the next start continues with the others.
 */
function useChecks(picked: readonly Proxy[]) {
  const [results, setResults] = useState<ReadonlyMap<number, Checked>>(new Map())
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<unknown>()
  const isStopped = useRef(false)
  useEffect(
    () => () => {
      isStopped.current = true
    },
    [],
  )
  const start = async () => {
    const left = picked.filter((each) => !results.has(each.id)).map((each) => each.id)
    const todo = left.length === 0 ? picked.map((each) => each.id) : left
    if (left.length === 0) setResults(new Map())
    isStopped.current = false
    setError(undefined)
    setRunning(true)
    const inLane = (lane: number) =>
      toBatches(
        todo.filter((_, index) => index % lanes === lane),
        1,
      )
    const run = (lane: number) =>
      sendBatches(inLane(lane), {
        send: async ([id = 0]) => (isStopped.current ? undefined : api.call('checkProxy', { body: { id } })),
        onSent: (_, answer) =>
          answer && !isStopped.current && setResults((before) => new Map([...before, [answer.id, answer]])),
      })
    try {
      await Promise.all(Array.from({ length: Math.min(lanes, todo.length) }, (_, lane) => run(lane)))
    } catch (refused) {
      isStopped.current = true
      setError(refused)
    }
    setRunning(false)
  }
  const stop = () => {
    isStopped.current = true
    setRunning(false)
  }
  return { results, isRunning, error, start: () => void start(), stop }
}

/** A button that checks proxies with real connections, its progress, and which of them do not work. */
export function CheckMany({ picked }: { readonly picked: readonly Proxy[] }) {
  const { t, format } = useMessages(checkMessages)
  const { results, isRunning, error, start, stop } = useChecks(picked)
  const isPart = results.size > 0 && results.size < picked.length
  const progress = t.checked(format.number(results.size), format.number(picked.length))
  return (
    <div className="stack">
      {picked.length > 1 && <Text c="dimmed">{t.checkAbout}</Text>}
      <div className="line">
        <Button variant="default" loading={isRunning && picked.length === 1} disabled={isRunning} onClick={start}>
          {picked.length === 1 ? t.check : isPart && !isRunning ? t.goOn : t.checkAll}
        </Button>
        {isRunning && picked.length > 1 && (
          <Button variant="subtle" onClick={stop}>
            {t.stop}
          </Button>
        )}
      </div>
      {picked.length > 1 && (isRunning || isPart) && (
        <div className="stack tight">
          <Progress value={(results.size / picked.length) * 100} aria-label={progress} />
          <Text size="sm" role="status">
            {progress}
          </Text>
        </div>
      )}
      {!isRunning && results.size > 0 && <Outcome picked={picked} results={results} />}
      <RefusalNotice error={error} />
    </div>
  )
}

type OutcomeProps = { readonly picked: readonly Proxy[]; readonly results: ReadonlyMap<number, Checked> }

function Outcome({ picked, results }: OutcomeProps) {
  const { t, format, language } = useMessages(checkMessages)
  const all = [...results.values()]
  const failed = picked.filter((each) => results.get(each.id)?.works === false)
  const slowest = format.number(Math.round(Math.max(...all.map((each) => each.took_ms ?? 0))))
  const works = all.length - failed.length
  if (failed.length === 0) {
    return <Notice tone="good">{all.length === 1 ? t.works(slowest) : t.allWork(format.number(works), slowest)}</Notice>
  }
  const causeOf = (proxy: Proxy) => sayProbe(results.get(proxy.id)?.problem ?? '', language)
  return (
    <>
      <Notice tone="warn">{t.someFail(format.number(works), format.number(failed.length))}</Notice>
      <Rows
        label={t.failed}
        rows={failed}
        keyOf={(row) => row.id}
        columns={(column) => [
          column(t.address, (row) => (
            <a className="mono" href={`#/dedicated/${row.id}`}>
              {nameOf(row)}
            </a>
          )),
          column.text(t.cause, (row) => <Status tone="bad">{causeOf(row)}</Status>),
        ]}
      />
    </>
  )
}
