import { Button, Text, Textarea, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Facts, Page, Panel, Reading } from '../shared/parts.tsx'
import { RefusalNotice } from '../shared/refusal-notice.tsx'
import { Rows } from '../shared/rows.tsx'
import { type Answer, api, useMay, useRead } from './api.ts'
import { Differences, Effects } from './price-changes.tsx'
import { priceWords } from './price-words.ts'
import { operatorWords } from './words.ts'

/** Lists of numbers stay on one line: they are read as one. */
const written = (catalogue: object): string =>
  JSON.stringify(catalogue, null, 2).replace(
    /\[\s+([\d.,\s]+?)\s+\]/g,
    (_, list: string) => `[${list.replace(/\s+/g, ' ')}]`,
  )

function read(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

export function PricesPage() {
  const words = useWords(operatorWords)
  const current = useRead('getCatalogue')
  return (
    <Page title={words.prices} about={words.pricesAbout}>
      <Reading of={current} height={400}>
        {(catalogue) => <Editor key={catalogue.version} of={catalogue} />}
      </Reading>
    </Page>
  )
}

/** The list as it is, to be changed: what a change does is shown before it is done. */
function Editor({ of }: { readonly of: Answer<'getCatalogue'> }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  const may = useMay()
  const [text, setText] = useState(() => written(of.catalogue))
  const catalogue = read(text) as Readonly<Record<string, unknown>> | undefined
  const compared = useMutation({
    mutationFn: (body: { readonly catalogue: Readonly<Record<string, unknown>> }) =>
      api.call('compareCatalogue', { body }),
  })
  const edit = (next: string) => {
    setText(next)
    compared.reset()
  }
  return (
    <>
      <Panel className="stack">
        <Facts
          of={[
            [words.version, String(of.version)],
            [words.appliedAt, format.moment(of.applied_at)],
          ]}
        />
        <Textarea
          label={words.editor}
          className="editor"
          value={text}
          rows={22}
          spellCheck={false}
          readOnly={!may('applyCatalogue')}
          error={catalogue === undefined ? words.notJson : undefined}
          onChange={(event) => edit(event.currentTarget.value)}
        />
        <RefusalNotice error={compared.error} />
        {may('compareCatalogue') && (
          <div>
            <Button
              variant="default"
              disabled={catalogue === undefined}
              loading={compared.isPending}
              onClick={() => catalogue && compared.mutate({ catalogue })}
            >
              {words.compare}
            </Button>
          </div>
        )}
        {compared.data && catalogue && <Changes of={compared.data} catalogue={catalogue} />}
      </Panel>
      <Versions onLoad={(older) => edit(written(older))} />
    </>
  )
}

function Changes({
  of: { changes, effects },
  catalogue,
}: {
  readonly of: Answer<'compareCatalogue'>
  readonly catalogue: Readonly<Record<string, unknown>>
}) {
  const words = useWords(operatorWords)
  const told = useWords(priceWords)
  const may = useMay()
  const queries = useQueryClient()
  const apply = useMutation({
    mutationFn: () => api.call('applyCatalogue', { body: { catalogue } }),
    onSuccess: () => queries.invalidateQueries(),
  })
  if (changes.length === 0) return <Text>{words.noChanges}</Text>
  return (
    <div className="stack changes">
      <Title order={2}>{words.changes}</Title>
      <Differences changes={changes} />
      <Title order={2}>{told.effects}</Title>
      <Text c="dimmed">{told.effectsAbout}</Text>
      <Effects of={effects} />
      <RefusalNotice error={apply.error} />
      {may('applyCatalogue') && (
        <div>
          <Button loading={apply.isPending} onClick={() => apply.mutate()}>
            {words.apply}
          </Button>
        </div>
      )}
    </div>
  )
}

function Versions({ onLoad }: { readonly onLoad: (catalogue: object) => void }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  const versions = useRead('listCatalogues')
  const load = useMutation({
    mutationFn: (version: number) => api.call('getCatalogue', { query: { version } }),
    onSuccess: ({ catalogue }) => onLoad(catalogue),
  })
  return (
    <Panel title={words.older}>
      <Reading of={versions}>
        {({ items }) => (
          <Rows
            label={words.older}
            rows={items}
            keyOf={(row) => row.version}
            columns={[
              { name: 'version', label: words.version, show: (row) => row.version },
              { name: 'at', label: words.appliedAt, show: (row) => format.moment(row.applied_at) },
              {
                name: 'load',
                label: words.load,
                isUnlabelled: true,
                show: (row) => (
                  <Button size="compact-sm" variant="default" onClick={() => load.mutate(row.version)}>
                    {words.load}
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Reading>
      <RefusalNotice error={load.error} />
    </Panel>
  )
}
