import { Button, Text } from '@mantine/core'
import { Copyable } from '../../shared/copy.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { Facts, Panel } from '../../shared/parts.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { type Answer, useChange, useRead } from '../api.ts'
import { moneyWords } from './words.ts'

/** The link by which a customer brings others, where something is given for that. */
export function ReferralPanel() {
  const words = useWords(moneyWords)
  const format = useFormat()
  const found = useRead('getReferral').data
  const making = useChange('makeReferralCode')
  if (!found || found.terms === null) return null
  const { percent, top_ups: topUps } = found.terms
  return (
    <Panel title={words.referral} className="stack">
      <Text c="dimmed">{words.referralAbout(format.number(percent), words.topUps(topUps, format))}</Text>
      {found.code === null ? (
        <div>
          <Button loading={making.isPending} onClick={() => making.mutate({})}>
            {words.referralGet}
          </Button>
        </div>
      ) : (
        <Shown of={found} />
      )}
      <RefusalNotice error={making.error} />
    </Panel>
  )
}

function Shown({ of: { code, link, brought, earned_rub: earned } }: { readonly of: Answer<'getReferral'> }) {
  const words = useWords(moneyWords)
  const format = useFormat()
  const [label, text] = link === null ? [words.referralCode, code ?? ''] : [words.referralLink, link]
  return (
    <>
      <Facts
        of={[
          [label, <Copyable key="link" text={text} label={label} />],
          [words.brought, format.number(brought)],
          [words.earned, format.exactMoney(earned)],
        ]}
      />
      {link === null && <Text c="dimmed">{words.referralTell}</Text>}
    </>
  )
}
