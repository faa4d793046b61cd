import { Button, Progress, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Verification } from '../client/operator.ts'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Empty, Facts, Page, Panel, Reading, RefusalNotice, Rows } from '../shared/parts.tsx'
import { useChange, useMay, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { coveredNames, parts } from './verify-ru.ts'

const verifyMessages = messages({
  ...operatorTexts,
  verifyAbout: pair(
    'Recomputes balances, leases, traffic and the audit log from the database and reports differences.',
    'Пересчитывает балансы, аренды адресов, трафик и журнал по базе и показывает расхождения.',
  ),
  runVerify: pair('Verify now', 'Сверить сейчас'),
  running: phrase('Checking: {part}', 'Проверяется: {part}'),
  verifyGood: pair('All checks passed', 'Все проверки пройдены'),
  verifyBad: phrase('Findings: {count}', 'Найдено проблем: {count}'),
  neverVerified: pair('Not verified since the shop started', 'С запуска магазина сверки не было'),
  neverVerifiedAbout: pair('Verification only reads the database.', 'Сверка только читает базу.'),
  promise: pair('Check', 'Проверка'),
  where: pair('Where', 'Где'),
  problem: pair('Problem', 'Проблема'),
  advice: pair('Recommended action', 'Что делать'),
  covered: pair('Checked', 'Проверено'),
  coveredNames: pair<Readonly<Record<string, string>>>({}, coveredNames),
  parts: pair<Readonly<Record<string, string>>>({}, parts),
})

export function VerifyPage() {
  const { t } = useMessages(verifyMessages)
  const may = useMay()
  const start = useChange('startVerify')
  const state = useRead('getVerify', {}, { everyMs: 500 })
  const isRunning = state.data?.state === 'running'
  const button = may('startVerify') && (
    <Button loading={isRunning || start.isPending} onClick={() => start.mutate({ body: {} })}>
      {t.runVerify}
    </Button>
  )
  const isEmpty = state.data?.state === 'none'
  return (
    <Page title={t.verify} about={t.verifyAbout} actions={!isEmpty && button}>
      <RefusalNotice error={start.error} />
      <Reading of={state}>{(found) => <Shown of={found} button={button} />}</Reading>
    </Page>
  )
}

function Shown({ of, button }: { readonly of: Verification; readonly button: ReactNode }) {
  const { t, format } = useMessages(verifyMessages)
  if (of.state === 'none') {
    return (
      <Panel>
        <Empty icon="shield" title={t.neverVerified} about={t.neverVerifiedAbout}>
          {button}
        </Empty>
      </Panel>
    )
  }
  if (of.state === 'running') {
    const part = of.part ?? ''
    return (
      <Panel className="stack">
        <Text role="status">{t.running(`${t.parts[part] ?? part} ${format.number(of.done)}`)}</Text>
        <Progress value={100} animated aria-label={t.verify} />
      </Panel>
    )
  }
  const covered = Object.entries(of.covered)
  return (
    <>
      <div role="status" className={of.ok === true ? 'notice good' : 'notice'}>
        <Text fw={600}>
          {of.ok === true ? t.verifyGood : t.verifyBad(format.number(of.found ?? of.findings.length))}
        </Text>
        {of.ended_at !== null && <Text size="sm">{format.moment(of.ended_at)}</Text>}
        {of.notes.map((note) => (
          <Text key={note} size="sm">
            {note}
          </Text>
        ))}
      </div>
      {of.findings.length > 0 && (
        <Panel>
          <Rows
            label={t.verify}
            rows={of.findings}
            keyOf={(row) => `${row.where}${row.problem}`}
            columns={(column) => [
              column.text(t.promise, (row) => row.promise_name),
              column.text(t.where, (row) => row.where),
              column.text(t.problem, (row) => row.problem),
              column.text(t.advice, (row) => row.advice),
            ]}
          />
        </Panel>
      )}
      {covered.length > 0 && (
        <Panel title={t.covered}>
          <Facts of={covered.map(([name, count]) => [t.coveredNames[name] ?? name, format.number(count)])} />
        </Panel>
      )}
    </>
  )
}
