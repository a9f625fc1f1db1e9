import pytest

from onelog.pipeline import errors


@pytest.mark.parametrize("kind", [errors.FlowError, errors.LedgerError, errors.TableError])
def test_whoever_runs_a_pipeline_catches_one_family(kind: type[errors.PipelineError]) -> None:
    with pytest.raises(errors.PipelineError, match="what was found"):
        raise kind("what was found")
