import { Button, Modal, NativeSelect } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Copy } from '../../shared/copy.tsx'
import { download } from '../../shared/download.ts'
import { Icon } from '../../shared/icons.tsx'
import { useWords } from '../../shared/language.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { sharedWords } from '../../shared/words.ts'
import { api } from '../api.ts'
import { dedicatedWords } from './words.ts'

const ways = ['1', '2', '3', '4', 'csv', 'json'] as const
type Way = (typeof ways)[number]

/** The four written forms are lines of text; the other two are files for programs. */
const toQuery = (way: Way, ids: readonly number[] | undefined) => ({
  ...(way === 'csv' || way === 'json'
    ? { format: way }
    : { format: 'txt' as const, format_id: Number(way) as 1 | 2 | 3 | 4 }),
  ids: ids?.join(','),
})

/** Proxies as a file or on the clipboard: those that are named, or all. */
export function ExportButton({ label, ids }: { readonly label: string; readonly ids?: readonly number[] }) {
  const words = useWords(dedicatedWords)
  const shared = useWords(sharedWords)
  const [isOpen, setOpen] = useState(false)
  const [way, setWay] = useState<Way>('1')
  const made = useMutation({
    mutationFn: (chosen: Way) => api.read('exportDedicated', { query: toQuery(chosen, ids) }),
  })
  const choose = (chosen: Way) => {
    setWay(chosen)
    made.mutate(chosen)
  }
  const open = () => {
    setOpen(true)
    made.mutate(way)
  }
  const ending = way === 'csv' || way === 'json' ? way : 'txt'
  const text = made.data === undefined ? '' : ending === 'json' ? pretty(made.data) : made.data
  return (
    <>
      <Button variant="default" leftSection={<Icon name="download" />} onClick={open}>
        {label}
      </Button>
      <Modal
        opened={isOpen}
        onClose={() => setOpen(false)}
        title={words.exportTitle}
        size="lg"
        closeButtonProps={{ 'aria-label': shared.close }}
      >
        <div className="stack">
          <NativeSelect
            label={words.format}
            value={way}
            data={ways.map((value) => ({ value, label: words.formats[value] ?? '' }))}
            onChange={(event) => choose(event.currentTarget.value as Way)}
          />
          <div className="listing">
            <pre tabIndex={0} role="region" aria-label={words.exportTitle}>
              {text}
            </pre>
          </div>
          <RefusalNotice error={made.error} />
          <div className="line">
            <Button disabled={text === ''} onClick={() => download(`proxies.${ending}`, text)}>
              {words.download}
            </Button>
            <Copy text={text} />
          </div>
        </div>
      </Modal>
    </>
  )
}

const pretty = (text: string): string => JSON.stringify((JSON.parse(text) as { data: unknown }).data, null, 2)
