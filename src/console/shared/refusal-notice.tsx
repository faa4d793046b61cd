import { Button, Text } from '@mantine/core'
import { CallLost, CallRefused } from '../client/call.ts'
import { useWords } from './language.tsx'
import { sharedWords } from './words.ts'

type Told = { readonly title: string; readonly text: string; readonly money?: string; readonly request?: string | null }

function tell(error: unknown, words: (typeof sharedWords)['en']): Told {
  if (error instanceof CallLost) return { title: words.lost, text: words.lostAbout }
  if (!(error instanceof CallRefused)) return { title: words.failed, text: words.failedAbout }
  const { charged } = error
  return {
    title: error.status >= 500 ? words.fault : words.refused,
    text: error.message,
    ...(charged !== undefined && { money: charged ? words.charged : words.notCharged }),
    ...(error.status >= 500 && { request: error.requestId }),
  }
}

/** What went wrong, in the shop's own words, and whether money moved. */
export function RefusalNotice({ error, onAgain }: { readonly error: unknown; readonly onAgain?: () => void }) {
  const words = useWords(sharedWords)
  if (error === null || error === undefined) return null
  const { title, text, money, request } = tell(error, words)
  return (
    <div role="alert" className="notice">
      <Text fw={600}>{title}</Text>
      <Text size="sm">
        {text} {money !== undefined && !text.includes('othing was charged') && <strong>{money}</strong>}
      </Text>
      {request !== undefined && request !== null && (
        <Text size="sm" c="dimmed">
          {words.request} <code>{request}</code>
        </Text>
      )}
      {onAgain && (
        <Button variant="default" size="xs" mt="xs" onClick={onAgain}>
          {words.again}
        </Button>
      )}
    </div>
  )
}
