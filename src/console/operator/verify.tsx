import { Button, Progress, Text } from '@mantine/core'
import type { Verification } from '../client/operator.ts'
import { useFormat } from '../shared/format.ts'
import { useLanguage, useWords } from '../shared/language.tsx'
import { Empty, Facts, Page, Panel, Reading } from '../shared/parts.tsx'
import { RefusalNotice } from '../shared/refusal-notice.tsx'
import { Rows } from '../shared/rows.tsx'
import { useChange, useMay, useRead } from './api.ts'
import { sayFinding, sayPart, sayUnseen } from './findings.ts'
import { verifyWords } from './verify-words.ts'
import { operatorWords } from './words.ts'

const whileRunningMs = 500

export function VerifyPage() {
  const words = useWords(operatorWords)
  const told = useWords(verifyWords)
  const may = useMay()
  const start = useChange('startVerify')
  const state = useRead('getVerify', {}, { everyMs: whileRunningMs })
  const isRunning = state.data?.state === 'running'
  return (
    <Page
      title={words.verify}
      about={told.verifyAbout}
      actions={
        may('startVerify') && (
          <Button loading={isRunning || start.isPending} onClick={() => start.mutate({ body: {} })}>
            {told.runVerify}
          </Button>
        )
      }
    >
      <RefusalNotice error={start.error} />
      <Reading of={state}>{(found) => <Shown of={found} />}</Reading>
    </Page>
  )
}

function Shown({ of }: { readonly of: Verification }) {
  const words = useWords(operatorWords)
  const told = useWords(verifyWords)
  const { language } = useLanguage()
  const format = useFormat()
  if (of.state === 'none') {
    return (
      <Panel>
        <Empty icon="shield" title={told.neverVerified} about={told.neverVerifiedAbout} />
      </Panel>
    )
  }
  if (of.state === 'running') {
    return (
      <Panel className="stack">
        <Text role="status">{told.running(`${sayPart(of.part ?? '', language)} ${format.number(of.done)}`)}</Text>
        <Progress value={100} animated aria-label={words.verify} />
      </Panel>
    )
  }
  return (
    <>
      <div role="status" className={of.ok === true ? 'notice good' : 'notice'}>
        <Text fw={600}>
          {of.ok === true ? told.verifyGood : told.verifyBad(format.number(of.found ?? of.findings.length))}
        </Text>
        {of.ended_at !== null && <Text size="sm">{format.moment(of.ended_at)}</Text>}
        {of.notes.map((note) => (
          <Text key={note} size="sm">
            {sayUnseen(note, language, format)}
          </Text>
        ))}
      </div>
      {of.findings.length > 0 && <Findings of={of} />}
      {Object.keys(of.covered).length > 0 && (
        <Panel title={told.covered}>
          <Facts
            of={Object.entries(of.covered).map(([name, count]) => [
              told.coveredNames[name] ?? name,
              format.number(count),
            ])}
          />
        </Panel>
      )}
    </>
  )
}

function Findings({ of }: { readonly of: Verification }) {
  const words = useWords(operatorWords)
  const told = useWords(verifyWords)
  const { language } = useLanguage()
  const format = useFormat()
  return (
    <Panel>
      <Rows
        label={words.verify}
        rows={of.findings.map((each) => sayFinding(each, language, format))}
        keyOf={(row) => `${row.where}${row.problem}`}
        columns={[
          { name: 'promise', label: told.promise, isText: true, show: (row) => row.promise },
          { name: 'where', label: told.where, isText: true, show: (row) => row.where },
          { name: 'problem', label: told.problem, isText: true, show: (row) => row.problem },
          { name: 'advice', label: told.advice, isText: true, show: (row) => row.advice },
        ]}
      />
    </Panel>
  )
}
