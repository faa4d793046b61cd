import type { Operations } from '../client/operator.ts'
import { Act, type ActProps } from '../shared/act.tsx'
import { useMay } from './api.ts'

type RoleActProps<Done> = ActProps<Done> & { readonly operation: keyof Operations }

/** A button for an operation, hidden if the operator's role may not call it. */
export function RoleAct<Done>({ operation, ...props }: RoleActProps<Done>) {
  const may = useMay()
  return may(operation) ? <Act {...props} /> : null
}
