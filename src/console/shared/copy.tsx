import { Button, UnstyledButton } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Icon } from './icons.tsx'
import { useMessages } from './language.tsx'
import { commonMessages } from './messages.ts'

const shownForMs = 1_500

function useCopying(text: string): readonly [isCopied: boolean, copy: () => void] {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    const timer = isCopied ? setTimeout(() => setCopied(false), shownForMs) : undefined
    return () => clearTimeout(timer)
  }, [isCopied])
  return [isCopied, () => void navigator.clipboard.writeText(text).then(() => setCopied(true))]
}

/** A button that copies; it says so when it has. */
export function Copy({ text, label }: { readonly text: string; readonly label?: string }) {
  const { t } = useMessages(commonMessages)
  const [isCopied, copy] = useCopying(text)
  return (
    <Button
      variant="default"
      size="xs"
      leftSection={<Icon name={isCopied ? 'check' : 'copy'} size={15} />}
      onClick={copy}
      aria-live="polite"
    >
      {isCopied ? t.copied : (label ?? t.copy)}
    </Button>
  )
}

/** A value that is copied by pressing it. */
export function Copyable({ text, label }: { readonly text: string; readonly label: string }) {
  const { t } = useMessages(commonMessages)
  const [isCopied, copy] = useCopying(text)
  return (
    <UnstyledButton className="copyable" onClick={copy} aria-label={`${t.copy}: ${label} ${text}`} title={t.copy}>
      <span className="mono">{text}</span>
      <Icon name={isCopied ? 'check' : 'copy'} size={14} />
    </UnstyledButton>
  )
}

/** The same where the value stands beside it already. */
export function CopyIcon({ text, label }: { readonly text: string; readonly label: string }) {
  const { t } = useMessages(commonMessages)
  const [isCopied, copy] = useCopying(text)
  return (
    <UnstyledButton className="copyable" onClick={copy} aria-label={`${t.copy}: ${label}`} title={t.copy}>
      <Icon name={isCopied ? 'check' : 'copy'} size={14} />
    </UnstyledButton>
  )
}

/** Lines to be taken away as they are. */
export const Listing = ({ text, label }: { readonly text: string; readonly label: string }) => (
  <div className="listing">
    <pre tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
    <Copy text={text} />
  </div>
)
