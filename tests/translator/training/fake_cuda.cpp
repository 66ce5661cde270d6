// What the autograd of a PyTorch without CUDA asks of a GPU, answered by doing nothing: so that
// tensors without values can pretend to be on one. Loaded before torch.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/FakeGuardImpl.h> // PyTorch's own, for its tests

using c10::DeviceType;
C10_REGISTER_GUARD_IMPL(CUDA, c10::impl::FakeGuardImpl<DeviceType::CUDA>)

namespace at {
struct CUDAHooks : CUDAHooksInterface {
  CUDAHooks(CUDAHooksArgs) {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return false; }
};
REGISTER_CUDA_HOOKS(CUDAHooks)
} // namespace at
