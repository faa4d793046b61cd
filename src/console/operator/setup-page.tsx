import { Text } from '@mantine/core'
import { useMessages } from '../shared/messages.tsx'
import { Page, Panel, Reading, Status } from '../shared/parts.tsx'
import { FirstSale } from './first-sale.tsx'
import { pageOf, type Setup, setupMessages, useSetup } from './setup.tsx'

export function SetupPage() {
  const { t } = useMessages(setupMessages)
  return (
    <Page title={t.setup} about={t.setupAbout}>
      <Reading of={useSetup()}>
        {(setup) => (
          <>
            <Steps of={setup.steps} />
            <FirstSale of={setup} />
          </>
        )}
      </Reading>
    </Page>
  )
}

function Steps({ of }: { readonly of: Setup['steps'] }) {
  const { t } = useMessages(setupMessages)
  const next = of.find((each) => !each.done)?.step
  return (
    <Panel>
      {next === undefined && <Text>{t.allReady}</Text>}
      <ol className="setup-steps">
        {of.map(({ step, done }) => (
          <li key={step} aria-current={step === next ? 'step' : undefined}>
            <div className="line ends">
              {pageOf[step] === undefined ? (
                <strong>{t.steps[step]}</strong>
              ) : (
                <a href={`#${pageOf[step]}`}>
                  <strong>{t.steps[step]}</strong>
                </a>
              )}
              <Status tone={done ? 'good' : 'warn'}>{done ? t.ready : t.missing}</Status>
            </div>
            {!done && (
              <Text size="sm" c="dimmed">
                {t.abouts[step]}
              </Text>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  )
}
